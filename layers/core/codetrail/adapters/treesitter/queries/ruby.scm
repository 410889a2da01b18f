(method name: (_) @name) @func
(singleton_method object: (self) name: (_) @name) @func
(singleton_method object: (constant) name: (_) @name) @func
(singleton_method name: (_) @name) @func
(class name: (_) @name) @type
(module name: (_) @name) @type
(singleton_class) @scope
(alias name: (_) @name) @func.line

(program (assignment left: (constant) @name) @const.line)
(class (body_statement (assignment left: (constant) @name) @const.line))
(module (body_statement (assignment left: (constant) @name) @const.line))
