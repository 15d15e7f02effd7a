-- Who changed which user, token or rule. Nothing is changed or removed here; secrets are in neither column.
CREATE TABLE access_audit (
    id uuid PRIMARY KEY,
    at timestamptz NOT NULL,
    actor text NOT NULL,
    via text NOT NULL,
    address text,
    action text NOT NULL,
    target text NOT NULL,
    was jsonb,
    became jsonb,
    CONSTRAINT access_audit_via_known CHECK (via IN ('session', 'token', 'command-line'))
);

-- Ids are UUIDv7: their order is that of time.
CREATE INDEX access_audit_target ON access_audit (target, id DESC);
