(class_declaration name: (identifier) @name) @type
(interface_declaration name: (identifier) @name) @type
(struct_declaration name: (identifier) @name) @type
(record_declaration name: (identifier) @name) @type
(enum_declaration name: (identifier) @name) @type
(delegate_declaration name: (identifier) @name) @type

(method_declaration name: (identifier) @name) @func
(constructor_declaration name: (identifier) @name) @func
(destructor_declaration name: (identifier) @name) @func
(operator_declaration) @func
(conversion_operator_declaration) @func
(local_function_statement name: (identifier) @name) @func

; A property is what callers name; an event too.
(property_declaration name: (identifier) @name) @var.line
(event_declaration name: (identifier) @name) @var.line
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @var.line
(indexer_declaration "this" @name) @func
