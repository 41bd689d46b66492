"""Policies as data: what a profile may say (`profile`, `descheduler`), the built-in ones (`policies`), and how the plugins,
solvers and rules that it names are found (`registry`, `plugin_files`).
"""
