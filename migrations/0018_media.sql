-- safe with the version before: yes
--
-- What people send with a message is kept like what calls return: an object, and a row that names it. Such a row counts only
-- when the message that opened its run was stored with the hash that it carries: so what belongs to a message that was refused
-- is seen by nobody, and what belongs to one that was forgotten is out of sight with it.

set local role plimsoll_owner;
alter domain plimsoll.artifact_kind drop constraint artifact_kind_check;
alter domain plimsoll.artifact_kind add constraint artifact_kind_check check (value in ('result', 'file', 'upload'));
reset role;
