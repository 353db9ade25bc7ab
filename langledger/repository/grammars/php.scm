(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @trait
(enum_declaration name: (name) @name) @enum
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(function_call_expression function: (name) @call)
(function_call_expression function: (qualified_name (name) @call))
(member_call_expression object: (_) @receiver name: (name) @call)
(nullsafe_member_call_expression object: (_) @receiver name: (name) @call)
(scoped_call_expression scope: (_) @receiver name: (name) @call)
(object_creation_expression [(name) @call (qualified_name (name) @call)])
(base_clause [(name) @inherit (qualified_name (name) @inherit)])
(class_interface_clause [(name) @inherit (qualified_name (name) @inherit)])
(use_declaration (name) @inherit)
(named_type (name) @use)
(namespace_use_declaration) @import
(assignment_expression left: (_) @var right: (object_creation_expression (name) @type))
(simple_parameter type: (named_type (name) @type) name: (variable_name) @var)
