(module . (comment)* . (expression_statement . (string) .) @package)

(function_definition name: (identifier) @name) @func
(class_definition name: (identifier) @name) @type
(type_alias_statement left: (type) @name) @type

; Names of the module: an assignment or an annotated name, alone or in a conditional. In capitals, a constant.
((module (expression_statement (assignment left: (identifier) @name)) @const.line)
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
(module (expression_statement (assignment left: (identifier) @name)) @var.line)
(module (expression_statement (assignment left: (pattern_list (identifier) @name))) @var.line)
(module (if_statement (block (expression_statement (assignment left: (identifier) @name)) @var.line)))
(module (if_statement (else_clause (block (expression_statement (assignment left: (identifier) @name)) @var.line))))
(module (try_statement (block (expression_statement (assignment left: (identifier) @name)) @var.line)))
(module (try_statement (except_clause (block (expression_statement (assignment left: (identifier) @name)) @var.line))))
