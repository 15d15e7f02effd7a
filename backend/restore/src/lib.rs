//! Restore plan, bounded chunk pipeline and sinks
