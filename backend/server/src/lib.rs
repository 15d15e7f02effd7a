//! Actors, HTTP, sign-in, TLS, live feed and the command line

pub mod actors;
pub mod allocator;
pub mod auth;
pub mod build;
pub mod cli;
pub mod clock;
mod host;
pub mod http;
pub mod jobs;
pub mod serve;
pub mod services;
pub mod settings;
pub mod state;
pub mod text;
pub mod tls;
pub mod views;
