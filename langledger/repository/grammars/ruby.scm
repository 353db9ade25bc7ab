(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @class
(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @module
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(program (assignment left: (constant) @name) @variable)
(call !receiver method: (identifier) @call)
(call receiver: (_) @receiver method: (_) @call)
(superclass [(constant) @inherit (scope_resolution name: (constant) @inherit)])
(call !receiver method: (identifier) @_require arguments: (argument_list (string)) (#match? @_require "^(require|require_relative|load|autoload)$")) @import
(call !receiver method: (identifier) @_mixin arguments: (argument_list (constant) @inherit) (#match? @_mixin "^(include|extend|prepend)$"))
(assignment left: (_) @var right: (call receiver: (constant) @type method: (identifier) @_new (#eq? @_new "new")))
