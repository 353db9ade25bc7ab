(table [(bare_key) (dotted_key) (quoted_key)] @name) @section
(table_array_element [(bare_key) (dotted_key) (quoted_key)] @name) @section
(document (pair [(bare_key) (dotted_key) (quoted_key)] @name) @key)
