(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name)) @variable)
(type_alias_statement left: (type (identifier) @name)) @type
(call function: (identifier) @call)
(call function: (attribute object: (_) @receiver attribute: (identifier) @call))
(class_definition superclasses: (argument_list (identifier) @inherit))
(class_definition superclasses: (argument_list (attribute object: (_) @receiver attribute: (identifier) @inherit)))
(decorator (identifier) @use)
(decorator (attribute object: (_) @receiver attribute: (identifier) @use))
(type (identifier) @use)
(type (attribute object: (_) @receiver attribute: (identifier) @use))
(except_clause (identifier) @use)
(raise_statement (identifier) @use)
(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import
(assignment left: (_) @var right: (call function: (identifier) @type))
(assignment left: (_) @var type: (type (identifier) @type))
(typed_parameter (identifier) @var type: (type (identifier) @type))
(with_item value: (as_pattern (call function: (identifier) @type) alias: (as_pattern_target (identifier) @var)))
