"""Writes the wheels that the soak installs: two packages, two versions each, half of it shared."""
import base64, hashlib, pathlib, random, sys, zipfile

folder = pathlib.Path(sys.argv[1])
folder.mkdir()


def content(name):
    dice = random.Random(name)
    return dice.randbytes(dice.choice([0, 40, 900, 9_000, 70_000]))


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


for package in ("soakone", "soaktwo"):
    for version in ("1.0", "2.0"):
        info = f"{package}-{version}.dist-info"
        files = {f"{package}/__init__.py": f"version = '{version}'\n".encode()}
        for n in range(60):
            # Two in three are the same in both versions, one in three in both packages too.
            whose = ["", package, package + version][n % 3]
            files[f"{package}/part{n % 4}/data{n}.bin"] = content(f"{whose}{n}")
        metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        files[f"{info}/METADATA"] = metadata.encode()
        files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items())
        files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
        with zipfile.ZipFile(folder / f"{package}-{version}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
            for name, data in files.items():
                wheel.writestr(name, data)
