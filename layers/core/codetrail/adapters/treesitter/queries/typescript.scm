(function_declaration name: (identifier) @name) @func
(generator_function_declaration name: (identifier) @name) @func
(class_declaration name: (type_identifier) @name) @type
(abstract_class_declaration name: (type_identifier) @name) @type
(interface_declaration name: (type_identifier) @name) @type
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @type
(function_signature name: (identifier) @name) @func.line
(internal_module name: (_) @name) @scope
(module name: (_) @name) @scope

(export_statement "default" (function_expression) @func)
(export_statement "default" (arrow_function) @func)
(export_statement "default" (class) @type)

(class_body (method_definition name: (_) @name) @func)
(class_body (method_signature name: (_) @name) @func.line)
(class_body (abstract_method_signature name: (_) @name) @func.line)
(class_body (public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @func)

; A function given to a name is declared by it.
(program (lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @func))
(program (variable_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @func))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @func)))
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (class)) @type))
(program (variable_declaration (variable_declarator name: (identifier) @name value: (class)) @type))
(program (expression_statement (assignment_expression
  left: [(member_expression) (subscript_expression)] @name
  right: [(arrow_function) (function_expression) (generator_function)])) @func)
(program (expression_statement (assignment_expression left: (member_expression) @name right: (class))) @type)
; exports = module.exports = createApplication
(program (expression_statement (assignment_expression left: (_) @name
  right: (assignment_expression left: (member_expression) @name
    right: [(arrow_function) (function_expression)]))) @func)

; defineGetter(req, 'query', function query() {})
(program (expression_statement (call_expression
  arguments: (arguments (function_expression name: (identifier) @name)))) @func)
(function_expression name: (identifier) @name) @func

; What an object of the module holds.
(program (lexical_declaration (variable_declarator (object (method_definition name: (_) @name) @func))))
(program (lexical_declaration (variable_declarator (object (pair key: (_) @name
  value: [(arrow_function) (function_expression)]) @func))))
(program (variable_declaration (variable_declarator (object (method_definition name: (_) @name) @func))))
(program (variable_declaration (variable_declarator (object (pair key: (_) @name
  value: [(arrow_function) (function_expression)]) @func))))

; The same inside functions, where it is as good as a declaration.
(variable_declarator name: (identifier) @name value: (function_expression)) @func
(assignment_expression left: (member_expression) @name right: (function_expression)) @func

(program (lexical_declaration "const" (variable_declarator name: (_) @name) @const.line))
(program (lexical_declaration (variable_declarator name: (_) @name) @var.line))
(program (variable_declaration (variable_declarator name: (_) @name) @var.line))
(program (export_statement (lexical_declaration "const" (variable_declarator name: (_) @name) @const.line)))
(program (export_statement (lexical_declaration (variable_declarator name: (_) @name) @var.line)))
(program (export_statement (variable_declaration (variable_declarator name: (_) @name) @var.line)))

; A namespace's own names, and what a declaration file declares.
(internal_module (statement_block (export_statement
  (lexical_declaration (variable_declarator name: (_) @name) @const.line))))
(ambient_declaration (lexical_declaration (variable_declarator name: (_) @name) @const.line))
(ambient_declaration (variable_declaration (variable_declarator name: (_) @name) @var.line))
