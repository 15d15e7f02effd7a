//! The benchmark lab: `/api/v1/bench/…`. What is measured, what was measured, and what it means.
//!
//! | method and path | request → reply |
//! |---|---|
//! | `GET /workloads` | → `Page<Workload>` |
//! | `GET /runs?workload=&state=&cursor=&limit=` | → `Page<BenchRun>`, newest first |
//! | `POST /runs` | [`CreateBenchRun`] → 202, [`BenchRun`] |
//! | `GET /runs/{id}` | → [`BenchRunDetail`] |
//! | `POST /runs/{id}/cancel` | → [`BenchRun`] |
//! | `GET /runs/{id}/export?format=` | → text in a [`ExportFormat`] |
//! | `POST /runs/{id}/attachments?kind=&side=&name=` | a file → 201, [`Attachment`] |
//! | `GET /runs/{id}/attachments/{attachment}` | → the bytes as they came |
//! | `GET /flame?of=&before=` | attachments by id → [`Flame`] |
//! | `POST /import?name=&format=&dry_run=` | a file → [`ImportReport`] |
//! | `GET /compare?before=&after=&across=` | two runs → [`Comparison`] |
//! | `GET /compare/export?before=&after=&across=&format=` | → text |
//! | `GET /series?workload=` | → `Page<Series>` |
//! | `GET /series/{id}/history?from=&to=` | → [`SeriesHistory`] |
//! | `POST /annotations` | [`CreateAnnotation`] → 201, [`Annotation`] |
//! | `DELETE /annotations/{id}` | withdraws it → [`Annotation`] |
//! | `GET /alerts?state=` | → `Page<Alert>` |
//! | `POST /alerts/{id}` | [`ChangeAlert`] → [`Alert`] |
//! | `GET /machines` | → `Page<Machine>` |

mod comparison;
mod run;
mod series;
mod workload;

pub use comparison::{
    Comparison, Difference, Export, ExportFormat, Findings, Histogram, Interval, JudgedCell, MatrixRow,
    Metric, Sample, Scenario, Side, Summary, Tally, TwoPeaks, Verdict, Version, WriteSizes,
};
pub use run::{
    Attachment, AttachmentKind, BenchProgress, BenchRun, BenchRunDetail, BenchState, CreateBenchRun, Flame,
    FlameFrame, FloorReport, FloorState, ImportReport, LiveSample, Load, Machine,
};
pub use series::{
    Alert, AlertState, Annotation, AnnotationKind, ChangeAlert, ChangePoint, CreateAnnotation, Level, Point,
    Series, SeriesHistory,
};
pub use workload::Workload;
