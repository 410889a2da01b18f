(package_clause (package_identifier) @name) @package

(function_declaration name: (identifier) @name) @func

(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (type_identifier) @owner)
    (pointer_type (type_identifier) @owner)
    (pointer_type (generic_type type: (type_identifier) @owner))
    (parenthesized_type (type_identifier) @owner)
    (parenthesized_type (pointer_type (type_identifier) @owner))
  ]))
  name: (field_identifier) @name) @func

(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type

(source_file (const_declaration (const_spec name: (identifier) @name) @const.line))
(source_file (var_declaration (var_spec name: (identifier) @name) @var.line))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @var.line)))
