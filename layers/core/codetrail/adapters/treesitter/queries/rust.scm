(function_item name: (identifier) @name) @func
(function_signature_item name: (identifier) @name) @func
(macro_definition name: (identifier) @name) @func
(struct_item name: (type_identifier) @name) @type
(enum_item name: (type_identifier) @name) @type
(union_item name: (type_identifier) @name) @type
(trait_item name: (type_identifier) @name) @type
(source_file (type_item name: (type_identifier) @name) @type.line)
(declaration_list (type_item name: (type_identifier) @name) @type.line)
(declaration_list (associated_type name: (type_identifier) @name) @type.line)
(source_file (const_item name: (identifier) @name) @const.line)
(source_file (static_item name: (identifier) @name) @var.line)
(declaration_list (const_item name: (identifier) @name) @const.line)
(declaration_list (static_item name: (identifier) @name) @var.line)

(impl_item type: (_) @name) @scope
(mod_item name: (identifier) @name body: (declaration_list)) @scope
(foreign_mod_item body: (declaration_list)) @scope
