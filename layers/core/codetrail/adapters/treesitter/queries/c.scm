(function_definition) @func
(preproc_function_def name: (identifier) @name) @func.line
(preproc_def name: (identifier) @name) @const.line

(struct_specifier name: (type_identifier) @name body: (_)) @type
(union_specifier name: (type_identifier) @name body: (_)) @type
(enum_specifier name: (type_identifier) @name body: (_)) @type
(type_definition) @type

; At file level, a prototype is a function and all else a variable.
(translation_unit (declaration declarator: (function_declarator)) @func.line)
(translation_unit (declaration declarator: (pointer_declarator (function_declarator))) @func.line)
(translation_unit (declaration declarator: (pointer_declarator (pointer_declarator (function_declarator)))) @func.line)
(translation_unit (declaration) @var.line)
(preproc_ifdef (declaration declarator: (function_declarator)) @func.line)
(preproc_ifdef (declaration declarator: (pointer_declarator (function_declarator))) @func.line)
(preproc_ifdef (declaration) @var.line)
(preproc_if (declaration declarator: (function_declarator)) @func.line)
(preproc_if (declaration declarator: (pointer_declarator (function_declarator))) @func.line)
(preproc_if (declaration) @var.line)
(preproc_else (declaration declarator: (function_declarator)) @func.line)
(preproc_else (declaration) @var.line)
(linkage_specification (declaration_list (declaration declarator: (function_declarator)) @func.line))
(linkage_specification (declaration_list (declaration declarator: (pointer_declarator (function_declarator))) @func.line))
(linkage_specification (declaration_list (declaration) @var.line))
