(class_declaration name: (_) @name) @class
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(type_alias_declaration name: (_) @name) @type
(internal_module name: (_) @name) @module
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(function_signature name: (identifier) @name) @function
(method_definition name: (_) @name) @method
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @variable))
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @function
(public_field_definition name: (property_identifier) @name value: (arrow_function)) @method
(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @receiver property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @receiver property: (property_identifier) @call))
(extends_clause value: (identifier) @inherit)
(extends_clause value: (member_expression object: (_) @receiver property: (property_identifier) @inherit))
(implements_clause (type_identifier) @inherit)
(extends_type_clause (type_identifier) @inherit)
(type_annotation (type_identifier) @use)
(type_arguments (type_identifier) @use)
(decorator (identifier) @use)
(decorator (call_expression function: (identifier) @use))
(import_statement) @import
(export_statement source: (_)) @import
(variable_declarator name: (identifier) @var value: (new_expression constructor: (identifier) @type))
(assignment_expression left: (member_expression) @var right: (new_expression constructor: (identifier) @type))
(variable_declarator name: (identifier) @var type: (type_annotation (type_identifier) @type))
(required_parameter pattern: (identifier) @var type: (type_annotation (type_identifier) @type))
(jsx_opening_element name: (identifier) @use)
(jsx_self_closing_element name: (identifier) @use)
