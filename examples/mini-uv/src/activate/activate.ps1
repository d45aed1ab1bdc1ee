# Use this file with `. bin/activate.ps1`; `deactivate` leaves the environment again.

function global:deactivate([switch] $Keep) {
    if (Test-Path variable:global:_MINI_UV_OLD_PATH) {
        $env:PATH = $global:_MINI_UV_OLD_PATH
        Remove-Variable -Scope global _MINI_UV_OLD_PATH
    }
    Remove-Item -ErrorAction SilentlyContinue env:VIRTUAL_ENV, env:VIRTUAL_ENV_PROMPT
    if (-not $Keep) {
        Remove-Item function:deactivate
    }
}

deactivate -Keep

$env:VIRTUAL_ENV = @VIRTUAL_ENV@
$env:VIRTUAL_ENV_PROMPT = @PROMPT@
$global:_MINI_UV_OLD_PATH = $env:PATH
$env:PATH = (Join-Path $env:VIRTUAL_ENV "@BIN@") + [IO.Path]::PathSeparator + $env:PATH
