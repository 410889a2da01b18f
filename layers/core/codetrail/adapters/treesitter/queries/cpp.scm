(function_definition) @func
(preproc_function_def name: (identifier) @name) @func.line
(preproc_def name: (identifier) @name) @const.line

(struct_specifier name: (_) @name body: (_)) @type
(union_specifier name: (_) @name body: (_)) @type
(enum_specifier name: (_) @name body: (_)) @type
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

(class_specifier name: (_) @name body: (_)) @type
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @type

(namespace_definition (declaration_list (declaration declarator: (function_declarator)) @func.line))
(namespace_definition (declaration_list (declaration declarator: (pointer_declarator (function_declarator))) @func.line))
(namespace_definition (declaration_list (declaration declarator: (reference_declarator (function_declarator))) @func.line))
(namespace_definition (declaration_list (declaration) @var.line))
(template_declaration (declaration declarator: (function_declarator)) @func.line)
(template_declaration (declaration declarator: (pointer_declarator (function_declarator))) @func.line)
(template_declaration (declaration declarator: (reference_declarator (function_declarator))) @func.line)
(template_declaration (declaration) @var.line)

; A class's own functions, declared here and defined elsewhere.
(field_declaration declarator: (function_declarator)) @func.line
(field_declaration declarator: (pointer_declarator (function_declarator))) @func.line
(field_declaration declarator: (reference_declarator (function_declarator))) @func.line
(field_declaration_list (declaration declarator: (function_declarator)) @func.line)
