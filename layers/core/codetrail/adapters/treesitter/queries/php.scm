(function_definition name: (name) @name) @func
(method_declaration name: (name) @name) @func
(class_declaration name: (name) @name) @type
(interface_declaration name: (name) @name) @type
(trait_declaration name: (name) @name) @type
(enum_declaration name: (name) @name) @type

(const_declaration (const_element (name) @name) @const.line)
(program (expression_statement (assignment_expression left: (variable_name) @name)) @var.line)
