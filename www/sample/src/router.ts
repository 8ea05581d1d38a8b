import { useEffect, useState } from "preact/hooks";

/** Returns the current path. A link inside the app changes the path without a reload of the page. */
export function usePath(): string {
  const [path, setPath] = useState(location.pathname);

  useEffect(() => {
    const update = () => setPath(location.pathname);
    const followLink = (event: MouseEvent) => {
      const link = (event.target as Element).closest("a");
      if (!link?.getAttribute("href")?.startsWith("/")) return;
      event.preventDefault();
      history.pushState(null, "", link.getAttribute("href"));
      update();
    };
    addEventListener("popstate", update);
    document.addEventListener("click", followLink);
    return () => {
      removeEventListener("popstate", update);
      document.removeEventListener("click", followLink);
    };
  }, []);

  return path;
}
