CREATE FUNCTION public.bench_counts(complete boolean, load jsonb, quiet boolean, unit text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT complete AND (load IS NULL OR quiet
        OR unit IN ('cpu-s', 'cpu-ms', 'B', 'KiB', 'MiB', 'cycles', 'instructions', 'count', 'allocs')) $$;
CREATE TABLE public.access_audit (
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    via text NOT NULL,
    address text,
    action text NOT NULL,
    target text NOT NULL,
    was jsonb,
    became jsonb,
    CONSTRAINT access_audit_via_known CHECK ((via = ANY (ARRAY['session'::text, 'token'::text, 'command-line'::text])))
);
CREATE TABLE public.bench_alert (
    id bigint NOT NULL,
    series bigint NOT NULL,
    run uuid NOT NULL,
    against uuid NOT NULL,
    ratio double precision NOT NULL,
    p double precision NOT NULL,
    state text NOT NULL,
    confirmed_by uuid,
    opened_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    changed_by text NOT NULL,
    reason text NOT NULL,
    told text,
    CONSTRAINT bench_alert_state_known CHECK ((state = ANY (ARRAY['open'::text, 'confirmed'::text, 'acknowledged'::text, 'muted'::text, 'gone'::text])))
);
ALTER TABLE public.bench_alert ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.bench_alert_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.bench_annotation (
    id bigint NOT NULL,
    series bigint NOT NULL,
    run uuid,
    kind text NOT NULL,
    reason text NOT NULL,
    author text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    withdrawn_at timestamp with time zone,
    withdrawn_by text,
    CONSTRAINT bench_annotation_kind_known CHECK ((kind = ANY (ARRAY['outlier'::text, 'level-shift'::text, 'note'::text]))),
    CONSTRAINT bench_annotation_of_a_run CHECK (((kind = 'note'::text) OR (run IS NOT NULL))),
    CONSTRAINT bench_annotation_withdrawn_by CHECK (((withdrawn_at IS NULL) = (withdrawn_by IS NULL)))
);
ALTER TABLE public.bench_annotation ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.bench_annotation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.bench_attachment (
    id uuid NOT NULL,
    run uuid NOT NULL,
    side text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    size bigint NOT NULL,
    zstd bytea NOT NULL,
    CONSTRAINT bench_attachment_kind_known CHECK ((kind = ANY (ARRAY['flame-graph'::text, 'perf-stat'::text, 'log'::text, 'original'::text]))),
    CONSTRAINT bench_attachment_side_known CHECK ((side = ANY (ARRAY[''::text, 'before'::text, 'after'::text]))),
    CONSTRAINT bench_attachment_size_bounded CHECK (((size >= 0) AND (size <= 134217728)))
);
ALTER TABLE ONLY public.bench_attachment ALTER COLUMN zstd SET STORAGE EXTERNAL;
CREATE TABLE public.bench_histogram (
    run uuid NOT NULL,
    cell integer NOT NULL,
    side text NOT NULL,
    kind text NOT NULL,
    bins jsonb NOT NULL
);
CREATE TABLE public.bench_revision (
    id bigint NOT NULL,
    repository text NOT NULL,
    commit text NOT NULL,
    dirty boolean NOT NULL,
    parent text
);
CREATE TABLE public.bench_run (
    id uuid NOT NULL,
    workload bigint NOT NULL,
    source text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    measured_at timestamp with time zone GENERATED ALWAYS AS (COALESCE(started_at, created_at)) STORED NOT NULL,
    revision_before bigint,
    revision_after bigint,
    machine text,
    machine_class text NOT NULL,
    cold boolean NOT NULL,
    quick boolean NOT NULL,
    complete boolean NOT NULL,
    quiet boolean NOT NULL,
    seed bigint,
    samples integer NOT NULL,
    operator text NOT NULL,
    reason text NOT NULL,
    load jsonb,
    tool_version text NOT NULL,
    digest text NOT NULL,
    content text NOT NULL,
    frame json,
    facts json NOT NULL,
    floors json,
    verdicts integer[],
    pinned boolean DEFAULT false NOT NULL,
    rolled_up_at timestamp with time zone,
    alerts_judged_at timestamp with time zone,
    CONSTRAINT bench_run_content_known CHECK ((content = ANY (ARRAY['matrix'::text, 'series'::text, 'stacks'::text]))),
    CONSTRAINT bench_run_four_verdicts CHECK ((cardinality(verdicts) = 4)),
    CONSTRAINT bench_run_frame_of_matrix CHECK (((content = 'matrix'::text) = (frame IS NOT NULL)))
);
CREATE TABLE public.bench_series (
    id bigint NOT NULL,
    key_sha256 text NOT NULL,
    workload text NOT NULL,
    parameters jsonb NOT NULL,
    metric text NOT NULL,
    unit text NOT NULL,
    better text NOT NULL,
    machine_class text NOT NULL,
    side text NOT NULL,
    CONSTRAINT bench_series_better_known CHECK ((better = ANY (ARRAY['lower'::text, 'higher'::text]))),
    CONSTRAINT bench_series_side_known CHECK ((side = ANY (ARRAY['before'::text, 'after'::text])))
);
CREATE TABLE public.bench_summary (
    series bigint NOT NULL,
    run uuid NOT NULL,
    ordinal integer NOT NULL,
    judged boolean NOT NULL,
    measured_at timestamp with time zone NOT NULL,
    n bigint NOT NULL,
    min double precision NOT NULL,
    lower_quartile double precision NOT NULL,
    median double precision NOT NULL,
    upper_quartile double precision NOT NULL,
    max double precision NOT NULL,
    mad double precision NOT NULL,
    bins jsonb NOT NULL
);
CREATE VIEW public.bench_otava AS
 SELECT summary.measured_at AS "time",
    series.id AS series,
    series.workload,
    (series.parameters)::text AS parameters,
    series.metric,
    series.unit,
        CASE series.better
            WHEN 'higher'::text THEN 1
            ELSE '-1'::integer
        END AS direction,
    series.machine_class,
    series.side,
    (run.id)::text AS run,
    COALESCE(revision.repository, ''::text) AS repository,
    COALESCE(revision.commit, ''::text) AS commit,
    summary.n,
    summary.min,
    summary.lower_quartile,
    summary.median,
    summary.upper_quartile,
    summary.max
   FROM (((public.bench_summary summary
     JOIN public.bench_series series ON ((series.id = summary.series)))
     JOIN public.bench_run run ON ((run.id = summary.run)))
     LEFT JOIN public.bench_revision revision ON ((revision.id =
        CASE series.side
            WHEN 'before'::text THEN run.revision_before
            ELSE run.revision_after
        END)))
  WHERE (public.bench_counts(run.complete, run.load, run.quiet, series.unit) AND (NOT (EXISTS ( SELECT
           FROM public.bench_annotation said
          WHERE ((said.series = summary.series) AND (said.run = summary.run) AND (said.kind = 'outlier'::text) AND (said.withdrawn_at IS NULL))))));
ALTER TABLE public.bench_revision ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.bench_revision_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.bench_sample (
    series bigint NOT NULL,
    run uuid NOT NULL,
    "position" integer NOT NULL,
    value double precision NOT NULL,
    CONSTRAINT bench_sample_is_a_measurement CHECK (((value >= (0)::double precision) AND (value < 'Infinity'::double precision)))
);
ALTER TABLE public.bench_series ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.bench_series_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.bench_workload (
    id bigint NOT NULL,
    name text NOT NULL,
    file_sha256 text NOT NULL,
    data_sha256 text NOT NULL,
    text text NOT NULL
);
ALTER TABLE public.bench_workload ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.bench_workload_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.job (
    id uuid NOT NULL,
    instance uuid NOT NULL,
    upid text NOT NULL,
    store text NOT NULL,
    ns text NOT NULL,
    snapshot text NOT NULL,
    archive text NOT NULL,
    target text NOT NULL,
    parallel integer,
    memory_bytes bigint NOT NULL,
    params jsonb NOT NULL,
    authid text NOT NULL,
    machine text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    outcome text,
    error jsonb,
    bytes_total bigint,
    bytes_done bigint,
    bytes_written bigint,
    zero_bytes bigint,
    chunks_total bigint,
    chunks_distinct bigint,
    chunks_fetched bigint,
    refetched bigint,
    encoded_bytes_read bigint,
    duration_ns bigint,
    cpu_ns bigint,
    index_csum text,
    sha256 text,
    CONSTRAINT job_finished_has_outcome CHECK (((outcome IS NULL) = (finished_at IS NULL))),
    CONSTRAINT job_outcome_known CHECK ((outcome = ANY (ARRAY['ok'::text, 'failed'::text, 'cancelled'::text, 'incomplete'::text, 'interrupted'::text])))
);
CREATE TABLE public.job_sample (
    job_id uuid NOT NULL,
    t_ns bigint NOT NULL,
    bytes_done bigint NOT NULL,
    bytes_written bigint NOT NULL,
    encoded_bytes_read bigint NOT NULL,
    chunks_done bigint NOT NULL,
    in_flight integer NOT NULL,
    budget_used_bytes bigint NOT NULL
);
CREATE TABLE public.machine (
    fingerprint text NOT NULL,
    cpu_model text,
    cores integer,
    ram_bytes bigint,
    kernel text,
    file_system text,
    first_seen timestamp with time zone DEFAULT now() NOT NULL,
    disk text,
    governor text,
    class text,
    facts json
);
ALTER TABLE ONLY public.access_audit
    ADD CONSTRAINT access_audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bench_alert
    ADD CONSTRAINT bench_alert_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bench_annotation
    ADD CONSTRAINT bench_annotation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bench_attachment
    ADD CONSTRAINT bench_attachment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bench_attachment
    ADD CONSTRAINT bench_attachment_run_kind_side_name_sha256_key UNIQUE (run, kind, side, name, sha256);
ALTER TABLE ONLY public.bench_histogram
    ADD CONSTRAINT bench_histogram_pkey PRIMARY KEY (run, cell, side, kind);
ALTER TABLE ONLY public.bench_revision
    ADD CONSTRAINT bench_revision_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bench_revision
    ADD CONSTRAINT bench_revision_repository_commit_dirty_key UNIQUE (repository, commit, dirty);
ALTER TABLE ONLY public.bench_run
    ADD CONSTRAINT bench_run_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.bench_run
    ADD CONSTRAINT bench_run_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bench_sample
    ADD CONSTRAINT bench_sample_pkey PRIMARY KEY (series, run, "position") INCLUDE (value);
ALTER TABLE ONLY public.bench_series
    ADD CONSTRAINT bench_series_key_sha256_key UNIQUE (key_sha256);
ALTER TABLE ONLY public.bench_series
    ADD CONSTRAINT bench_series_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bench_summary
    ADD CONSTRAINT bench_summary_pkey PRIMARY KEY (series, run);
ALTER TABLE ONLY public.bench_summary
    ADD CONSTRAINT bench_summary_run_ordinal_key UNIQUE (run, ordinal);
ALTER TABLE ONLY public.bench_workload
    ADD CONSTRAINT bench_workload_name_file_sha256_data_sha256_key UNIQUE (name, file_sha256, data_sha256);
ALTER TABLE ONLY public.bench_workload
    ADD CONSTRAINT bench_workload_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.job_sample
    ADD CONSTRAINT job_sample_pkey PRIMARY KEY (job_id, t_ns);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT job_upid_key UNIQUE (upid);
ALTER TABLE ONLY public.machine
    ADD CONSTRAINT machine_pkey PRIMARY KEY (fingerprint);
CREATE INDEX access_audit_target ON public.access_audit USING btree (target, id DESC);
CREATE UNIQUE INDEX bench_alert_standing ON public.bench_alert USING btree (series) WHERE (state <> 'gone'::text);
CREATE INDEX bench_alert_state_id ON public.bench_alert USING btree (state, id DESC);
CREATE INDEX bench_alert_untold ON public.bench_alert USING btree (id) WHERE ((state = ANY (ARRAY['open'::text, 'confirmed'::text])) AND (told IS DISTINCT FROM state));
CREATE INDEX bench_annotation_series ON public.bench_annotation USING btree (series, id);
CREATE INDEX bench_run_machine ON public.bench_run USING btree (machine, id DESC);
CREATE INDEX bench_run_raw ON public.bench_run USING btree (measured_at) WHERE (rolled_up_at IS NULL);
CREATE INDEX bench_run_unjudged ON public.bench_run USING btree (measured_at) WHERE (alerts_judged_at IS NULL);
CREATE INDEX bench_run_workload_id ON public.bench_run USING btree (workload, id DESC);
CREATE INDEX bench_series_workload ON public.bench_series USING btree (workload, id);
CREATE INDEX bench_summary_history ON public.bench_summary USING btree (series, measured_at DESC, run DESC) INCLUDE (n, min, lower_quartile, median, upper_quartile, max);
CREATE INDEX job_outcome_id ON public.job USING btree (outcome, id DESC);
CREATE INDEX job_store_id ON public.job USING btree (store, id DESC);
CREATE INDEX job_unfinished ON public.job USING btree (instance) WHERE (outcome IS NULL);
ALTER TABLE ONLY public.bench_alert
    ADD CONSTRAINT bench_alert_against_fkey FOREIGN KEY (against) REFERENCES public.bench_run(id);
ALTER TABLE ONLY public.bench_alert
    ADD CONSTRAINT bench_alert_confirmed_by_fkey FOREIGN KEY (confirmed_by) REFERENCES public.bench_run(id);
ALTER TABLE ONLY public.bench_alert
    ADD CONSTRAINT bench_alert_run_fkey FOREIGN KEY (run) REFERENCES public.bench_run(id);
ALTER TABLE ONLY public.bench_alert
    ADD CONSTRAINT bench_alert_series_fkey FOREIGN KEY (series) REFERENCES public.bench_series(id);
ALTER TABLE ONLY public.bench_annotation
    ADD CONSTRAINT bench_annotation_run_fkey FOREIGN KEY (run) REFERENCES public.bench_run(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.bench_annotation
    ADD CONSTRAINT bench_annotation_series_fkey FOREIGN KEY (series) REFERENCES public.bench_series(id);
ALTER TABLE ONLY public.bench_attachment
    ADD CONSTRAINT bench_attachment_run_fkey FOREIGN KEY (run) REFERENCES public.bench_run(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.bench_histogram
    ADD CONSTRAINT bench_histogram_run_fkey FOREIGN KEY (run) REFERENCES public.bench_run(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.bench_run
    ADD CONSTRAINT bench_run_machine_fkey FOREIGN KEY (machine) REFERENCES public.machine(fingerprint);
ALTER TABLE ONLY public.bench_run
    ADD CONSTRAINT bench_run_revision_after_fkey FOREIGN KEY (revision_after) REFERENCES public.bench_revision(id);
ALTER TABLE ONLY public.bench_run
    ADD CONSTRAINT bench_run_revision_before_fkey FOREIGN KEY (revision_before) REFERENCES public.bench_revision(id);
ALTER TABLE ONLY public.bench_run
    ADD CONSTRAINT bench_run_workload_fkey FOREIGN KEY (workload) REFERENCES public.bench_workload(id);
ALTER TABLE ONLY public.bench_sample
    ADD CONSTRAINT bench_sample_run_fkey FOREIGN KEY (run) REFERENCES public.bench_run(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.bench_sample
    ADD CONSTRAINT bench_sample_series_fkey FOREIGN KEY (series) REFERENCES public.bench_series(id);
ALTER TABLE ONLY public.bench_summary
    ADD CONSTRAINT bench_summary_run_fkey FOREIGN KEY (run) REFERENCES public.bench_run(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.bench_summary
    ADD CONSTRAINT bench_summary_series_fkey FOREIGN KEY (series) REFERENCES public.bench_series(id);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT job_machine_fkey FOREIGN KEY (machine) REFERENCES public.machine(fingerprint);
ALTER TABLE ONLY public.job_sample
    ADD CONSTRAINT job_sample_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.job(id);
