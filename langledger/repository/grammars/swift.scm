(class_declaration name: [(type_identifier) @name (user_type (type_identifier) @name)]) @class
(protocol_declaration name: (type_identifier) @name) @interface
(function_declaration name: (_) @name) @function
(protocol_function_declaration name: (_) @name) @function
(init_declaration "init" @name) @method
(typealias_declaration name: (type_identifier) @name) @type
(source_file (property_declaration name: (pattern (simple_identifier) @name)) @variable)
(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @call)))
(inheritance_specifier inherits_from: (user_type (type_identifier) @inherit .))
(parameter (user_type (type_identifier) @use .))
(import_declaration) @import
(property_declaration name: (pattern (simple_identifier) @var) (type_annotation (user_type (type_identifier) @type .)))
(property_declaration name: (pattern (simple_identifier) @var) value: (call_expression . (simple_identifier) @type))
(parameter name: (simple_identifier) @var (user_type (type_identifier) @type .))
