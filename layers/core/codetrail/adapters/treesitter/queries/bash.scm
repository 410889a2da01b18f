(function_definition name: (word) @name) @func

(program (variable_assignment name: (variable_name) @name) @var.line)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @var.line)
