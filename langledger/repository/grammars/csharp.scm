(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(struct_declaration name: (_) @name) @struct
(enum_declaration name: (_) @name) @enum
(record_declaration name: (_) @name) @class
(delegate_declaration name: (_) @name) @type
(namespace_declaration name: (_) @name) @module
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(property_declaration name: (_) @name) @method
(local_function_statement name: (_) @name) @function
(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name (identifier) @call))
(invocation_expression function: (member_access_expression expression: [(_) "this" "base"] @receiver name: [(identifier) @call (generic_name (identifier) @call)]))
(object_creation_expression type: [(identifier) @call (generic_name (identifier) @call)])
(base_list [(identifier) @inherit (generic_name (identifier) @inherit)])
(base_list (qualified_name qualifier: (_) @receiver name: (identifier) @inherit))
(parameter type: (identifier) @use)
(attribute name: (identifier) @use)
(variable_declaration type: (identifier) @use)
(using_directive) @import
(variable_declaration type: (identifier) @type (variable_declarator name: (identifier) @var))
(parameter type: (identifier) @type name: (identifier) @var)
