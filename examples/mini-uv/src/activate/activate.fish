# Use this file with `source bin/activate.fish`; `deactivate` leaves the environment again.

function deactivate
    if set -q _MINI_UV_OLD_PATH
        set -gx PATH $_MINI_UV_OLD_PATH
        set -e _MINI_UV_OLD_PATH
    end
    if set -q _MINI_UV_OLD_PYTHONHOME
        set -gx PYTHONHOME $_MINI_UV_OLD_PYTHONHOME
        set -e _MINI_UV_OLD_PYTHONHOME
    end
    set -e VIRTUAL_ENV
    set -e VIRTUAL_ENV_PROMPT
    if test "$argv[1]" != keep
        functions -e deactivate
    end
end

deactivate keep

set -gx VIRTUAL_ENV @VIRTUAL_ENV@
set -gx VIRTUAL_ENV_PROMPT @PROMPT@
set -gx _MINI_UV_OLD_PATH $PATH
set -gx PATH "$VIRTUAL_ENV/@BIN@" $PATH

if set -q PYTHONHOME
    set -gx _MINI_UV_OLD_PYTHONHOME $PYTHONHOME
    set -e PYTHONHOME
end
