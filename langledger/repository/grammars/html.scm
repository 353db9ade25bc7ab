(element (start_tag (attribute (attribute_name) @_id (quoted_attribute_value (attribute_value) @name)) (#eq? @_id "id"))) @section
(script_element (start_tag (attribute (attribute_name) @_src (quoted_attribute_value) @import) (#eq? @_src "src")))
(script_element (start_tag (tag_name) @name)) @section
(style_element (start_tag (tag_name) @name)) @section
