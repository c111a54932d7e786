"""The reference, made from the code: pages for the site, and man pages.

Each source is one module: `commands` reads the command lines, `keys` the configuration, `events` the journal,
`api` the routes, `codes` the exit codes. `pages` and `man` write them down. Nothing that is written is kept in the
repository, so nothing can be out of date.
"""
