(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: [(type_identifier) @owner (pointer_type (type_identifier) @owner) (pointer_type (generic_type type: (type_identifier) @owner)) (generic_type type: (type_identifier) @owner)])) name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name type: [(type_identifier) (function_type) (map_type) (slice_type) (pointer_type) (qualified_type) (array_type) (channel_type)]) @type
(type_alias name: (type_identifier) @name) @type
(source_file (const_declaration (const_spec name: (identifier) @name)) @variable)
(source_file (var_declaration (var_spec name: (identifier) @name)) @variable)
(method_elem name: (field_identifier) @name) @method
(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (_) @receiver field: (field_identifier) @call))
(composite_literal type: (type_identifier) @call)
(composite_literal type: (qualified_type package: (_) @receiver name: (type_identifier) @call))
(struct_type (field_declaration_list (field_declaration !name type: (type_identifier) @inherit)))
(struct_type (field_declaration_list (field_declaration !name type: (qualified_type package: (_) @receiver name: (type_identifier) @inherit))))
(parameter_declaration type: (type_identifier) @use)
(field_declaration type: (type_identifier) @use)
(import_spec) @import
(parameter_declaration name: (identifier) @var type: [(type_identifier) @type (pointer_type (type_identifier) @type)])
(short_var_declaration left: (expression_list . (identifier) @var) right: (expression_list . [(composite_literal type: (type_identifier) @type) (unary_expression operand: (composite_literal type: (type_identifier) @type))]))
(var_spec name: (identifier) @var type: (type_identifier) @type)
