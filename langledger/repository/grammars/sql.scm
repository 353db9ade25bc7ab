(create_table (object_reference name: (identifier) @name)) @table
(create_view (object_reference name: (identifier) @name)) @view
(create_materialized_view (object_reference name: (identifier) @name)) @view
(create_function (object_reference name: (identifier) @name)) @function
(create_index column: (identifier) @name) @index
(create_type (object_reference name: (identifier) @name)) @type
(create_trigger (object_reference name: (identifier) @name)) @trigger
(create_sequence (object_reference name: (identifier) @name)) @sequence
(relation (object_reference name: (identifier) @use))
(insert (object_reference name: (identifier) @use))
(constraint (object_reference name: (identifier) @use))
(column_definition (object_reference name: (identifier) @use))
(invocation (object_reference name: (identifier) @call))
