/** Opens a file in the page, as a user does with the button Open, and waits until the rows of the file are drawn. */
export async function openFile(page, name, text) {
  await page.run(
    `const input = all("pw-list-files")[0].shadowRoot.querySelector("input[type=file]");
     const files = new DataTransfer();
     files.items.add(new File([arguments[1]], arguments[0]));
     input.files = files.files;
     input.dispatchEvent(new Event("change"));`,
    name,
    text,
  );
  await page.until(`${name} is read`, () => page.run(`return model().notice.value.includes(arguments[0])`, name));
  await page.driver.executeAsyncScript(
    `const done = arguments[0];
     document.querySelector("pw-inspector").context.model.whenTaken().then(() => requestAnimationFrame(() => done()));`,
  );
}
