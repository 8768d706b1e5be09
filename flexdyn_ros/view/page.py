"""The page that viser serves, with two additions: exact colours, and room on phones.

viser has no material without light, and its renderer maps tones, so that a colour on a robot would be another
one than in its legend. Materials of the kinds toon3 and toon5 are used for nothing else here: the addition
puts the plain colour in place of their shaders. Instances have theirs as the page shows it, other meshes in
linear light. On phones the panel is as wide as the page, and scroll bars, which lie over what they scroll,
are narrower than its margins.
"""

from __future__ import annotations

import gzip
import re
from html import escape
from typing import Any

#: material whose colours are exact
EXACT = "toon3"

_SCRIPT = """<script>
{
  const exact = `
    void main() {
    #ifdef USE_INSTANCING_COLOR_INDIRECT
      gl_FragColor = vec4( diffuse, opacity ) * vColor;
    #else
      gl_FragColor = linearToOutputTexel( vec4( diffuse, opacity ) );
    #endif
    }`;
  const original = WebGL2RenderingContext.prototype.shaderSource;
  WebGL2RenderingContext.prototype.shaderSource = function (shader, source) {
    const colours = this.getShaderParameter(shader, this.SHADER_TYPE) === this.FRAGMENT_SHADER;
    const isToon = colours && source.includes('#define TOON');
    original.call(this, shader, isToon ? source.split('void main()')[0] + exact : source);
  };
}
</script>"""

_STYLE = """<style>
.mantine-ScrollArea-scrollbar[data-orientation="vertical"] { width: 6px !important; padding: 1px !important; }
@media (max-width: 30em) {
  .mantine-Paper-root[style*="position: fixed"][style*="bottom: 0"],
  .mantine-Paper-root[style*="position: fixed"][style*="bottom: 0"] div[style*="width: 20em"] {
    width: 100% !important;
  }
}
</style>"""


def _titled(html: str, title: str) -> str:
    # a function, since a name may hold what would be a reference to a group
    return re.sub("<title>.*?</title>", lambda _: f"<title>{escape(title)}</title>", html, count=1)


def with_additions(html: str, title: str = "") -> str:
    """A page of viser with the additions, and with a title of its own where one is given; the script runs
    before the page's own program."""
    html = _titled(html, title) if title else html
    head, tag, rest = html.partition("<head>")
    return head + tag + _SCRIPT + _STYLE + rest


def completed(response: Any, title: str) -> Any:
    """The answer to a request, with the additions and the title where it is the page."""
    headers = response.headers
    if not headers.get("Content-Type", "").startswith("text/html") or not response.body:
        return response
    packed = headers.get("Content-Encoding") == "gzip"
    text = (gzip.decompress(response.body) if packed else response.body).decode()
    body = with_additions(text, title).encode()
    response.body = gzip.compress(body, 5) if packed else body
    del headers["Content-Length"]
    headers["Content-Length"] = str(len(response.body))
    return response
