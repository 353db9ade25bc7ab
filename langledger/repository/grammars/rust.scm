(struct_item name: (_) @name) @struct
(enum_item name: (_) @name) @enum
(union_item name: (_) @name) @struct
(trait_item name: (_) @name) @trait
(type_item name: (_) @name) @type
(mod_item name: (_) @name body: (_)) @module
(macro_definition name: (_) @name) @macro
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(const_item name: (_) @name) @variable
(static_item name: (_) @name) @variable
(impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name) (scoped_type_identifier name: (type_identifier) @name)]) @impl
(impl_item trait: [(type_identifier) @inherit (generic_type type: (type_identifier) @inherit) (scoped_type_identifier name: (type_identifier) @inherit)])
(trait_bounds (type_identifier) @use)
(call_expression function: (identifier) @call)
(call_expression function: (scoped_identifier path: (_) @receiver name: (identifier) @call))
(call_expression function: (field_expression value: (_) @receiver field: (field_identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(macro_invocation macro: (identifier) @call)
(struct_expression name: (type_identifier) @call)
(parameter type: (type_identifier) @use)
(field_declaration type: (type_identifier) @use)
(reference_type type: (type_identifier) @use)
(use_declaration) @import
(parameter pattern: (identifier) @var type: [(type_identifier) @type (reference_type type: (type_identifier) @type)])
(let_declaration pattern: (identifier) @var type: (type_identifier) @type)
(let_declaration pattern: (identifier) @var value: (struct_expression name: (type_identifier) @type))
(let_declaration pattern: (identifier) @var value: (call_expression function: (scoped_identifier path: (identifier) @type)))
