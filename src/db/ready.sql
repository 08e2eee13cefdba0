-- name: appliedMigrations
select m.version, m.checksum, m.safe from plimsoll.migration m order by m.version;
