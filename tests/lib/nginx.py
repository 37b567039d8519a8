"""nginx in front of a folder and of another server, with TLS and HTTP/2; and what it logged."""

import collections
import os
import socket
import subprocess

Request = collections.namedtuple("Request", "protocol status method target range authorization")
CONFIG = """
daemon off; {user} worker_processes 1; pid {at}/pid; error_log {at}/errors;
events {{ worker_connections 512; }}
http {{
    client_body_temp_path {at}/bodies; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/fast;
    uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;
    log_format fields "$server_protocol\\t$status\\t$request_method\\t$request_uri\\t$http_range\\t"
                      "$http_authorization";
    access_log {at}/log fields;
    server {{ listen 127.0.0.1:{ports[0]}; root {folder};
              location /away/ {{ return 302 http://127.0.0.1:{ports[1]}$uri; }} }}
    server {{ listen 127.0.0.1:{ports[1]}; access_log {at}/away fields;
              location /away/ {{ alias {folder}/; }} }}
    server {{ listen 127.0.0.1:{ports[2]} ssl http2;
              ssl_certificate {at}/certificate; ssl_certificate_key {at}/key;
              location /away/ {{ return 302 http://127.0.0.1:{ports[1]}$uri; }}
              location / {{ proxy_pass {behind}; proxy_http_version 1.1;
                            proxy_set_header Host $http_host; proxy_set_header Connection ""; }} }}
}}
"""


class Nginx:
    """Serves a folder at `plain`; another server, "http://...", at `secure`, whose certificate
    is the file `authority`. Below away/ both lead to a server of the folder at another port.
    Its sockets listen before it runs. It ends with the thread that makes this."""

    def __init__(self, scratch, folder, behind):
        self.at = scratch.folder("nginx")
        self.authority = os.path.join(self.at, "certificate")
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
        ports = [one.getsockname()[1] for one in sockets]
        self.plain, self.secure = f"http://127.0.0.1:{ports[0]}", f"https://127.0.0.1:{ports[2]}"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-out", self.authority, "-keyout",
                        os.path.join(self.at, "key")], check=True, stderr=subprocess.DEVNULL)
        with open(os.path.join(self.at, "conf"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(at=self.at, folder=folder, behind=behind, ports=ports,
                                     user="" if os.geteuid() else "user root;"))
        path = f"{os.environ.get('PATH', '')}:/usr/sbin"
        numbers = [one.fileno() for one in sockets]
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "nginx", "-p", self.at, "-c", "conf", "-e",
             os.path.join(self.at, "errors")], pass_fds=numbers,
            env={**os.environ, "PATH": path, "NGINX": "".join(f"{one};" for one in numbers)})
        for one in sockets:
            one.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def log(self, name="log"):
        """What was answered so far: `log`, or `away`."""
        with open(os.path.join(self.at, name), encoding="ascii") as file:
            return [Request(*line.rstrip("\n").split("\t")) for line in file]
