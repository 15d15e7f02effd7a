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
    first_seen timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.job_sample
    ADD CONSTRAINT job_sample_pkey PRIMARY KEY (job_id, t_ns);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT job_upid_key UNIQUE (upid);
ALTER TABLE ONLY public.machine
    ADD CONSTRAINT machine_pkey PRIMARY KEY (fingerprint);
CREATE INDEX job_outcome_id ON public.job USING btree (outcome, id DESC);
CREATE INDEX job_store_id ON public.job USING btree (store, id DESC);
CREATE INDEX job_unfinished ON public.job USING btree (instance) WHERE (outcome IS NULL);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT job_machine_fkey FOREIGN KEY (machine) REFERENCES public.machine(fingerprint);
ALTER TABLE ONLY public.job_sample
    ADD CONSTRAINT job_sample_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.job(id);
