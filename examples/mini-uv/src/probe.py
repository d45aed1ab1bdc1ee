"""Prints what an installer must know about the interpreter that runs this, as one line of JSON.

Imports little: `json` and `platform` load `re`, which takes half as long as starting Python.
"""

import os
import sys
import sysconfig

try:
    from _json import encode_basestring_ascii as quote
except ImportError:
    from json import dumps as quote


def encode(value):
    if isinstance(value, dict):
        pairs = (quote(key) + ":" + encode(value[key]) for key in value)
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(encode, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value) if isinstance(value, int) else quote(value)


def system():
    """What `platform` would say; on Linux it asks the same call."""
    if sys.platform.startswith("linux") and sys.implementation.name == "cpython":
        kernel = os.uname()
        return {
            "platform_machine": kernel.machine,
            "platform_python_implementation": "CPython",
            "platform_release": kernel.release,
            "platform_system": kernel.sysname,
            "platform_version": kernel.version,
        }
    import platform

    return {
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
    }


def macos():
    if sys.platform != "darwin":
        return ""
    import platform

    return platform.mac_ver()[0]


def full_version(info):
    version = "{0.major}.{0.minor}.{0.micro}".format(info)
    kind = info.releaselevel
    return version if kind == "final" else version + kind[0] + str(info.serial)


def glibc():
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, OSError, ValueError):
        return None
    parts = version.split(".")
    if name != "glibc" or len(parts) < 2:
        return None
    return [int(parts[0]), int("".join(c for c in parts[1] if c.isdigit()) or 0)]


def musl():
    """The loader's version, which it prints when it is run without arguments."""
    import glob
    import subprocess

    for loader in glob.glob("/lib/ld-musl-*.so.1"):
        text = subprocess.run([loader], stderr=subprocess.PIPE).stderr.decode("ascii", "replace")
        for line in text.splitlines():
            if line.startswith("Version "):
                return [int(part) for part in line.split()[1].split(".")[:2]]
    return None


def libc():
    if not sys.platform.startswith("linux"):
        return {}
    version = glibc()
    return {"glibc": version} if version else {"musl": musl()}


def paths():
    # A Debian interpreter keeps its own packages apart from those that users install.
    names = sysconfig.get_scheme_names()
    inside = sys.prefix != sys.base_prefix
    if inside and "venv" in names:
        return sysconfig.get_paths("venv")
    if not inside and "posix_local" in names and sys.version_info < (3, 12):
        return sysconfig.get_paths("posix_local")
    return sysconfig.get_paths()


found = paths()
python = "python{}.{}".format(*sys.version_info)
include = os.path.join(sys.prefix, "include", "site", python)
if sys.prefix == sys.base_prefix:
    include = found["include"]

print(
    encode(
        {
            "executable": sys.executable,
            "prefix": sys.prefix,
            "base_prefix": sys.base_prefix,
            "base_executable": getattr(sys, "_base_executable", None) or sys.executable,
            "purelib": found["purelib"],
            "platlib": found["platlib"],
            "scripts": found["scripts"],
            "data": found["data"],
            "include": include,
            "stdlib": sysconfig.get_path("stdlib"),
            "version": list(sys.version_info[:2]),
            "bits": 64 if sys.maxsize > 2**32 else 32,
            "platform": sysconfig.get_platform(),
            "macos": macos(),
            "gil_disabled": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
            "debug": bool(sysconfig.get_config_var("Py_DEBUG")),
            "soabi": sysconfig.get_config_var("SOABI") or "",
            "libc": libc(),
            "markers": dict(
                system(),
                implementation_name=sys.implementation.name,
                implementation_version=full_version(sys.implementation.version),
                os_name=os.name,
                python_full_version=sys.version.split()[0],
                python_version="{}.{}".format(*sys.version_info),
                sys_platform=sys.platform,
            ),
        }
    )
)
