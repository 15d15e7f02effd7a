//! The page of Fleethold: yew compiled to WebAssembly.
//!
//! [`model`] is pure and tested natively; everything else draws it. Data comes over `/api/v1`: fetched once, then kept
//! up to date by one event stream ([`api::feed`]), held outside the components ([`live`]) and announced once a frame.

pub mod api;
pub mod app;
pub mod chart;
pub mod clock;
pub mod i18n;
pub mod live;
pub mod model;
pub mod pages;
pub mod route;
pub mod ui;
