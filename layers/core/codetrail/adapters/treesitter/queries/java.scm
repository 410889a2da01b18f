(package_declaration [(identifier) (scoped_identifier)] @name) @package

(class_declaration name: (identifier) @name) @type
(interface_declaration name: (identifier) @name) @type
(enum_declaration name: (identifier) @name) @type
(record_declaration name: (identifier) @name) @type
(annotation_type_declaration name: (identifier) @name) @type

(method_declaration name: (identifier) @name) @func
(constructor_declaration name: (identifier) @name) @func
(compact_constructor_declaration name: (identifier) @name) @func
(annotation_type_element_declaration name: (identifier) @name) @func
