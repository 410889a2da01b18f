-- Repositories at a commit, their revisions, and the jobs that fill them.

create table repos (
    repo_id          text collate "C" primary key,
    remote           text not null,
    remote_key       text collate "C" not null,
    ref              text collate "C" not null,
    commit           text collate "C" not null,
    current_revision bigint,
    indexed_at       timestamptz,
    last_used_at     timestamptz not null default now(),
    created_at       timestamptz not null default now()
);
create index repos_by_age on repos (indexed_at desc, repo_id desc) where current_revision is not null;
create index repos_by_remote on repos (remote_key);

-- One row a (repository, indexer, model, contents): rows of every other table carry its number, and nothing
-- reads them until repos.current_revision points here. Two runs of one indexer may differ (a parser that ran out
-- of time), and their rows must never mix: `contents` is the digest of what a manifest promises.
create table revisions (
    revision        bigint generated always as identity primary key,
    repo_id         text collate "C" not null references repos on delete cascade,
    fingerprint     text collate "C" not null,
    model           text not null,
    contents        text collate "C" not null default '',
    dimension       integer not null,
    state           text not null default 'loading' check (state in ('loading', 'published', 'retired')),
    spans           integer not null,
    files           integer not null,
    postings        integer not null,
    names           integer not null,
    files_with_spans integer not null default 0,
    average_length  real not null,
    coverage        jsonb not null,
    job_order       bigint not null default 0,  -- of the last job that published it
    created_at      timestamptz not null default now(),
    published_at    timestamptz,
    unique (repo_id, fingerprint, model, contents)
);
alter table repos add foreign key (current_revision) references revisions deferrable initially deferred;

-- What a ref named when it was last indexed here; (job_order, attempt) never goes back.
create table refs (
    remote_key text collate "C" not null,
    ref        text collate "C" not null,
    repo_id    text collate "C" not null references repos on delete cascade,
    job_order  bigint not null,
    attempt    integer not null,
    indexed_at timestamptz not null default now(),
    primary key (remote_key, ref)
);
create index refs_by_repo on refs (repo_id);

create table jobs (
    id           text collate "C" primary key,
    job_order    bigint generated always as identity,
    remote       text not null,
    remote_key   text collate "C" not null,
    ref          text collate "C" not null,
    status       text not null default 'pending' check (status in ('pending', 'leased', 'done', 'failed')),
    stage        text not null default 'queued',
    attempt      integer not null default 1,
    failures     integer not null default 0,
    sequence     bigint not null default 0,
    counts       jsonb not null default '{}',
    reason       text,
    repo_id      text collate "C",
    outbox_at    timestamptz,
    submitted_at timestamptz not null default now(),
    updated_at   timestamptz not null default now(),
    finished_at  timestamptz
);
-- One repository and ref, one live job.
create unique index jobs_live on jobs (remote_key, ref) where status in ('pending', 'leased');
create index jobs_outbox on jobs (outbox_at) where outbox_at is not null;
create index jobs_silent on jobs (updated_at) where status in ('pending', 'leased');
