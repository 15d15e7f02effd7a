//! The fleet's configuration: parse, generation, cached lookups, atomic writes
