"""Reading TOSCA Simple Profile 1.3: files, types, values, functions, topology."""
