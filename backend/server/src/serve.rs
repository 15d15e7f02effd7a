//! The server from its start to its end.
//!
//! ```text
//! port bound ─▶ secrets, TLS, users, tasks ─▶ database (may be away) ─▶ interrupted restores settled ─▶ fleet, actors
//!    ─▶ requests answered ─▶ ready file … signal ─▶ feed closed ─▶ restores interrupted, on disk ─▶ listener ─▶ database
//! ```

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::Actor as _;
use actix_web::middleware::{Compress, NormalizePath, TrailingSlash, from_fn};
use actix_web::{App, HttpServer, web};
use anyhow::Context as _;
use fleethold_fleet::{Fleet, FleetOptions};
use fleethold_history::{Database, DatabaseConfig, Machine, Recorder, RecorderConfig};
use fleethold_restore::{EngineConfig, RestoreEngine};
use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_actix_web::TracingLogger;

use crate::actors::bench::{self, BenchActor};
use crate::actors::events::{self, EventHub};
use crate::actors::fleet::{self, FleetActor, NoteGeneration};
use crate::actors::jobs::{self, JobsActor};
use crate::auth::csrf::CsrfKey;
use crate::auth::session::Sessions;
use crate::auth::ticket::TicketKey;
use crate::auth::users::UserStore;
use crate::host::{node_name, raise_fd_limit};
use crate::jobs::history_rows::History;
use crate::jobs::record::JobRecords;
use crate::jobs::run::Runner;
use crate::jobs::task_files::TaskFiles;
use crate::jobs::{durable, recovery};
use crate::services::audit::{self, Audit};
use crate::services::bench::lab::Lab;
use crate::services::bench::webhook::Webhook;
use crate::services::bench::{upkeep, workloads};
use crate::services::targets::Targets;
use crate::services::{accounts, scanner, sessions};
use crate::settings::Settings;
use crate::state::AppState;
use crate::tls::{self, OwnCertificate};
use crate::views::{Downloads, StoreTable, Views};
use crate::{clock, http};

/// The configuration is looked at this often, should a change have gone unnoticed.
const CONFIG_TTL: Duration = Duration::from_secs(30);
/// How long restores may take to stop.
const JOBS_GRACE: Duration = Duration::from_secs(15);
/// How long a benchmark run may take to be kept.
const BENCH_GRACE: Duration = Duration::from_secs(15);
/// How long requests under way may take to end, in seconds.
const REQUESTS_GRACE_S: u64 = 5;
/// Threads for work that blocks: disks, hashes, task files.
const BLOCKING_THREADS: usize = 512;

/// What is said when starting, beside the settings.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// Written once the server answers: `{url, fingerprint, pid, user, password_file}`.
    pub ready_file: Option<PathBuf>,
    /// The binary whose processes take benchmark samples; absent: this one.
    pub worker: Option<PathBuf>,
    /// Another lock than that of the machine: for tests, which measure nothing that others could disturb.
    pub bench_lock: Option<String>,
    /// Workload files that are offered beside those of the binary.
    pub workloads: Vec<PathBuf>,
    /// Datastores are also found in the older way, for the benchmark that compares the two.
    pub reparse: bool,
}

/// Runs the server in an actix system of its own until a signal ends it.
///
/// # Errors
/// When anything it needs at the start is not there. PostgreSQL is not needed at the start.
pub fn start(settings: Settings, options: ServeOptions) -> anyhow::Result<()> {
    actix_web::rt::System::new().block_on(run(settings, options, CancellationToken::new()))
}

/// As [`start`], inside an actix system; `stop` ends the server as a signal does.
///
/// # Errors
/// As [`start`].
pub async fn run(settings: Settings, options: ServeOptions, stop: CancellationToken) -> anyhow::Result<()> {
    raise_fd_limit();
    let work = runtime::Builder::new_multi_thread()
        .worker_threads(settings.cpu_threads.clamp(2, 8))
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("fleethold-work")
        .enable_all()
        .build()
        .context("cannot start the threads for restores")?;
    let result = serve(settings, options, &stop, work.handle().clone()).await;
    Runtime::shutdown_background(work);
    result
}

async fn serve(
    settings: Settings,
    options: ServeOptions,
    stop: &CancellationToken,
    work: runtime::Handle,
) -> anyhow::Result<()> {
    // What can fail for a reason outside of us comes before anything that has to be stopped again.
    let ground = Ground::prepare(settings)?;
    let settings = &ground.settings;

    let database = {
        let config = match &settings.database_url {
            Some(url) => DatabaseConfig::External(url.clone()),
            None => DatabaseConfig::Private {
                state_dir: settings.state_dir.clone(),
            },
        };
        let _inside = work.enter();
        Database::start(config)
    };
    let machine = Machine::detect(&settings.state_dir);
    let recorder = work
        .spawn(Recorder::start(
            RecorderConfig::in_state_dir(&settings.state_dir),
            machine.clone(),
            Arc::clone(&database),
        ))
        .await?;
    let served = match &recorder {
        Ok(recorder) => {
            let history = History {
                recorder: Arc::clone(recorder),
                machine,
                memory_bytes: settings.memory_bytes,
            };
            answer(ground, options, stop, &work, Arc::clone(&database), history).await
        }
        Err(_) => Ok(()),
    };
    // Whatever happened: no PostgreSQL of ours stays behind.
    let recorder = work
        .spawn(async move {
            if let Ok(recorder) = &recorder {
                recorder.stop().await;
            }
            database.stop().await;
            recorder.map(drop)
        })
        .await?;
    served?;
    recorder?;
    tracing::info!("stopped");
    Ok(())
}

/// What a server stands on and what needs no end.
struct Ground {
    settings: Settings,
    listener: TcpListener,
    node: String,
    identity: tls::Identity,
    sessions: Sessions,
    targets: Arc<Targets>,
    tasks: Arc<TaskFiles>,
    records: JobRecords,
    engine: RestoreEngine,
    fleet: Fleet,
}

impl Ground {
    fn prepare(settings: Settings) -> anyhow::Result<Self> {
        let wanted = settings.listen;
        let listener = TcpListener::bind(wanted).with_context(|| format!("cannot listen on {wanted}"))?;
        let state_dir = &settings.state_dir;
        for folder in [state_dir, &settings.config_dir, &settings.run_dir] {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let options = FleetOptions {
            run_dir: Some(settings.run_dir.clone()),
            ..FleetOptions::default()
        };
        let fleet = Fleet::open_with(&settings.config_dir, options)?;
        let node = node_name();
        let own = match (&settings.tls_cert, &settings.tls_key) {
            (Some(certificate), Some(key)) => Some(OwnCertificate {
                certificate: certificate.clone(),
                key: key.clone(),
            }),
            _ => None,
        };
        let identity = tls::load(state_dir, own.as_ref(), &node)?;
        let users = Arc::new(UserStore::open(&settings.config_dir)?);
        sessions::first_start(&users, state_dir)?;
        let sessions = Sessions::new(
            users,
            TicketKey::load_or_create(&settings.config_dir)?,
            CsrfKey::load_or_create(&settings.config_dir)?,
        );
        let task_folder = state_dir.join("tasks");
        let records = JobRecords::open(&task_folder).context("cannot open the records of restores")?;
        let complete = recovery::complete(&records).context("cannot read the records of restores")?;
        let tasks = TaskFiles::open(&task_folder, &node, &complete)
            .with_context(|| format!("cannot open the tasks in {}", task_folder.display()))?;
        Ok(Self {
            listener,
            node,
            identity,
            sessions,
            targets: Arc::new(Targets::open(&settings.restore_roots, &settings.allow_devices)?),
            tasks: Arc::new(tasks),
            records,
            engine: RestoreEngine::new(EngineConfig {
                memory_bytes: settings.memory_bytes,
                cpu_threads: settings.cpu_threads,
            })?,
            fleet,
            settings,
        })
    }
}

/// From the first actor to the last: answers requests until a signal or `stop`.
async fn answer(
    ground: Ground,
    options: ServeOptions,
    stop: &CancellationToken,
    work: &runtime::Handle,
    database: Arc<Database>,
    history: History,
) -> anyhow::Result<()> {
    let Ground {
        settings,
        listener,
        node,
        identity,
        sessions,
        targets,
        tasks,
        records,
        engine,
        fleet,
    } = ground;
    let sessions = Arc::new(sessions);
    let views = Arc::new(Views {
        users: Arc::clone(&sessions.users),
        fleet,
        stores: StoreTable::default(),
        jobs: crate::jobs::table::JobTable::default(),
        bench: crate::services::bench::table::BenchTable::default(),
        database,
        recorder: Arc::clone(&history.recorder),
        downloads: Downloads::default(),
        feed: events::FeedStats::default(),
    });
    if options.reparse {
        views.stores.also_reparse(views.fleet.file());
    }
    settle_interrupted(&records, &targets, &views, &history, work).await?;

    let fleet = FleetActor::new(Arc::clone(&views), settings.cpu_threads.clamp(1, 4)).start();
    fleet
        .send(NoteGeneration)
        .await
        .context("the fleet's actor did not start")?;
    let watch = {
        let fleet = fleet.clone();
        // A full mailbox holds the same message already.
        views
            .fleet
            .watch(CONFIG_TTL, move |_| drop(fleet.try_send(NoteGeneration)))?
    };
    let runner = Arc::new(Runner {
        views: Arc::clone(&views),
        records: records.clone(),
        engine: engine.clone(),
        targets: Arc::clone(&targets),
        history,
        stopping: false.into(),
    });
    let jobs = JobsActor::new(runner, Arc::clone(&tasks), work.clone(), settings.memory_bytes).start();
    let lab = lab(&views, &settings, &options, work).await?;
    let bench = BenchActor::new(Arc::clone(&lab), work.clone()).start();
    let events = EventHub::new(Arc::clone(&views)).start();
    let stop_looking = CancellationToken::new();
    let webhook = settings.bench_webhook.clone().map(Webhook::new).transpose();
    let webhook = webhook.context("cannot make a client for bench_webhook")?;
    work.spawn(upkeep::run(
        Arc::clone(&lab),
        settings.bench_keep_days,
        webhook,
        stop_looking.clone(),
    ));
    work.spawn(scanner::run(Arc::clone(&views), stop_looking.clone()));
    work.spawn(accounts::follow(Arc::clone(&views.users), stop_looking.clone()));
    let audit = Arc::new(Audit::new(&settings.state_dir));
    let audited = Arc::clone(&views.database);
    work.spawn(audit::follow(Arc::clone(&audit), audited, stop_looking.clone()));

    let state = web::Data::new(AppState {
        views,
        sessions,
        engine,
        targets,
        tasks,
        records,
        fleet: fleet.clone(),
        jobs: jobs.clone(),
        bench: bench.clone(),
        lab,
        audit,
        events: events.clone(),
        work: work.clone(),
        node,
        fingerprint: identity.fingerprint.clone(),
        started_at: clock::now(),
        settings,
    });
    let (server, address) = listen(listener, state.clone(), identity.config)?;
    let handle = server.handle();
    let listening = actix_web::rt::spawn(server);
    announce(&state, address, &options)?;

    wait_for_end(stop).await?;
    tracing::info!("shutting down");
    stop_looking.cancel();
    drop(watch);
    // Streams that never end would hold the listener's shutdown.
    events
        .send(events::Close)
        .await
        .context("the live feed did not close")?;
    let measured = bench
        .send(bench::Shutdown)
        .await
        .context("the benchmark's actor is gone")?;
    let stopped = jobs
        .send(jobs::Shutdown)
        .await
        .context("the restores' actor is gone")?;
    if tokio::time::timeout(JOBS_GRACE, stopped).await.is_err() {
        tracing::warn!("restores did not stop in time; they will be found interrupted at the next start");
    }
    if tokio::time::timeout(BENCH_GRACE, measured).await.is_err() {
        tracing::warn!(
            "the benchmark run did not end in time; what is in its outbox arrives after the next start"
        );
    }
    jobs.do_send(jobs::Stop);
    bench.do_send(bench::Stop);
    handle.stop(true).await;
    listening.await?.context("the listener failed")?;
    fleet.do_send(fleet::Stop);
    Ok(())
}

/// The benchmark lab of this server.
async fn lab(
    views: &Arc<Views>,
    settings: &Settings,
    options: &ServeOptions,
    work: &runtime::Handle,
) -> anyhow::Result<Arc<Lab>> {
    let worker = match &options.worker {
        Some(worker) => worker.clone(),
        None => std::env::current_exe().context("finding this binary")?,
    };
    let (views, dir) = (Arc::clone(views), settings.state_dir.join("bench"));
    let (files, lock) = (options.workloads.clone(), options.bench_lock.clone());
    let made = work.spawn_blocking(move || {
        let workloads = workloads::load(&files)?;
        let lab = Lab::new(views, dir, lock, worker, workloads)
            .context("cannot make the folder of the benchmarks")?;
        anyhow::Ok(Arc::new(lab))
    });
    made.await?
}

/// What the process before left running ends, as interrupted or complete: on disk, in memory and in the history.
async fn settle_interrupted(
    records: &JobRecords,
    targets: &Arc<Targets>,
    views: &Arc<Views>,
    history: &History,
    work: &runtime::Handle,
) -> anyhow::Result<()> {
    let (records, targets, shown) = (records.clone(), Arc::clone(targets), Arc::clone(views));
    let settled = work
        .spawn_blocking(move || recovery::recover(&records, &targets, &shown.jobs))
        .await?
        .context("cannot read the records of restores")?;
    for job in &settled {
        history.finished(job, false).await;
    }
    if let Err(error) = history.recorder.mark_interrupted(&[]).await {
        tracing::warn!(%error, "the history took no note of the restart");
    }
    Ok(())
}

fn listen(
    listener: TcpListener,
    state: web::Data<AppState>,
    tls: rustls::ServerConfig,
) -> anyhow::Result<(actix_web::dev::Server, SocketAddr)> {
    let address = listener.local_addr()?;
    let workers = state.settings.cpu_threads.clamp(2, 8);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(state.clone())
            .wrap(from_fn(http::drain::unread_body))
            .wrap(Compress::default())
            .wrap(from_fn(http::headers::stamp))
            .wrap(TracingLogger::default())
            .wrap(NormalizePath::new(TrailingSlash::MergeOnly))
            .configure(http::configure)
    })
    .workers(workers)
    .shutdown_timeout(REQUESTS_GRACE_S)
    .disable_signals()
    .listen_rustls_0_23(listener, tls)
    .with_context(|| format!("cannot serve on {address}"))?
    .run();
    Ok((server, address))
}

/// Says where the server is: on standard output for people, in the ready file for programs.
fn announce(state: &AppState, address: SocketAddr, options: &ServeOptions) -> anyhow::Result<()> {
    let host = match address {
        address if address.ip().is_unspecified() => format!("localhost:{}", address.port()),
        address => address.to_string(),
    };
    let url = format!("https://{host}");
    let password_file = Some(sessions::password_file(&state.settings.state_dir)).filter(|path| path.exists());
    let mut out = std::io::stdout().lock();
    writeln!(out, "Fleethold answers at {url}")?;
    writeln!(out, "certificate fingerprint (SHA-256): {}", state.fingerprint)?;
    if let Some(path) = &password_file {
        writeln!(
            out,
            "user {}, password in {}",
            sessions::FIRST_USER,
            path.display()
        )?;
    }
    out.flush()?;
    if let Some(path) = &options.ready_file {
        let ready = serde_json::json!({
            "url": url,
            "fingerprint": state.fingerprint,
            "pid": std::process::id(),
            "user": password_file.as_ref().map(|_| sessions::FIRST_USER),
            "password_file": password_file,
        });
        durable::replace(path, format!("{ready}\n").as_bytes())
            .with_context(|| format!("cannot write the ready file {}", path.display()))?;
    }
    // Not under systemd: nothing to tell.
    if let Err(error) = sd_notify::notify(false, &[sd_notify::NotifyState::Ready]) {
        tracing::warn!(%error, "systemd was not told that the server answers");
    }
    tracing::info!(%url, fingerprint = %state.fingerprint, "ready");
    Ok(())
}

async fn wait_for_end(stop: &CancellationToken) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = stop.cancelled() => {}
    }
    Ok(())
}
