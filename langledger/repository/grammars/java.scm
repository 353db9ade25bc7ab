(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(record_declaration name: (_) @name) @class
(annotation_type_declaration name: (_) @name) @interface
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(method_invocation !object name: (identifier) @call)
(method_invocation object: (_) @receiver name: (identifier) @call)
(object_creation_expression type: [(type_identifier) @call (generic_type (type_identifier) @call)])
(superclass [(type_identifier) @inherit (generic_type (type_identifier) @inherit)])
(super_interfaces (type_list [(type_identifier) @inherit (generic_type (type_identifier) @inherit)]))
(extends_interfaces (type_list [(type_identifier) @inherit (generic_type (type_identifier) @inherit)]))
(formal_parameter type: (type_identifier) @use)
(field_declaration type: (type_identifier) @use)
(marker_annotation name: (identifier) @use)
(annotation name: (identifier) @use)
(method_declaration type: (type_identifier) @use)
(import_declaration) @import
(local_variable_declaration type: (type_identifier) @type declarator: (variable_declarator name: (identifier) @var))
(field_declaration type: (type_identifier) @type declarator: (variable_declarator name: (identifier) @var))
(formal_parameter type: (type_identifier) @type name: (identifier) @var)
