-- Written by `npm run schema` from migrations/: change nothing here.

-- schemas
grant usage on schema public to public;
