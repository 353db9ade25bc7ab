(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(source_file (property_declaration (variable_declaration (identifier) @name)) @variable)
(type_alias type: (identifier) @name) @type
(call_expression . (identifier) @call)
(call_expression . (navigation_expression (_) @receiver (identifier) @call .))
(delegation_specifier [(user_type (identifier) @inherit .) (constructor_invocation (user_type (identifier) @inherit .))])
(parameter (user_type (identifier) @use .))
(annotation (user_type (identifier) @use .))
(import) @import
(property_declaration (variable_declaration (identifier) @var (user_type (identifier) @type .)))
(property_declaration (variable_declaration (identifier) @var) (call_expression . (identifier) @type))
(parameter (identifier) @var (user_type (identifier) @type .))
