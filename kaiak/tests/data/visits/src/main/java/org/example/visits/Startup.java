package org.example.visits;

import java.util.Set;

/** Registers nothing, and only shows names without imports. */
public class Startup implements javax.servlet.ServletContainerInitializer {
    @Override
    public void onStartup(Set<Class<?>> classes, javax.servlet.ServletContext context)
            throws javax.servlet.ServletException {
        javax.servlet.SessionCookieConfig cookies = context.getSessionCookieConfig();
        cookies.setHttpOnly(true);
    }
}
