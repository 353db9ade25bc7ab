(class_declaration name: (_) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name) @method
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (variable_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @variable))
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @function
(field_definition property: (property_identifier) @name value: (arrow_function)) @method
(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @receiver property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @receiver property: (property_identifier) @call))
(class_heritage (identifier) @inherit)
(class_heritage (member_expression object: (_) @receiver property: (property_identifier) @inherit))
(jsx_opening_element name: (identifier) @use)
(jsx_self_closing_element name: (identifier) @use)
(import_statement) @import
(export_statement source: (_)) @import
(variable_declarator name: (_) value: (call_expression function: (identifier) @_require (#eq? @_require "require"))) @import
(variable_declarator name: (identifier) @var value: (new_expression constructor: (identifier) @type))
(assignment_expression left: (member_expression) @var right: (new_expression constructor: (identifier) @type))
