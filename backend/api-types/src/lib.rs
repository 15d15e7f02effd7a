//! Wire types of `/api/v1` and its live events.
