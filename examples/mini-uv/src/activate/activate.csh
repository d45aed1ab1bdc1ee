# Use this file with `source bin/activate.csh`; `deactivate` leaves the environment again.

alias deactivate 'test $?_MINI_UV_OLD_PATH != 0 && setenv PATH "$_MINI_UV_OLD_PATH" && unset _MINI_UV_OLD_PATH; unsetenv VIRTUAL_ENV; unsetenv VIRTUAL_ENV_PROMPT; rehash; test "\!:*" != "keep" && unalias deactivate'

deactivate keep

setenv VIRTUAL_ENV @VIRTUAL_ENV@
setenv VIRTUAL_ENV_PROMPT @PROMPT@
set _MINI_UV_OLD_PATH="$PATH"
setenv PATH "${VIRTUAL_ENV}/@BIN@:${PATH}"
rehash
