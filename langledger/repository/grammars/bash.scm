(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(command name: (command_name (word) @call))
(command name: (command_name (word) @_source) argument: (_) (#match? @_source "^(source|\\.)$")) @import
