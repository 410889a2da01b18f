(function_declaration name: (identifier) @name) @func
(generator_function_declaration name: (identifier) @name) @func
(class_declaration name: (identifier) @name) @type

(export_statement "default" (function_expression) @func)
(export_statement "default" (arrow_function) @func)
(export_statement "default" (class) @type)

(class_body (method_definition name: (_) @name) @func)
(class_body (field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @func)

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
